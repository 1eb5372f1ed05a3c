export { errorBody, errorObject } from "../shared/openai/openai-errors.ts";
