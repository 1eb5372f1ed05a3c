export { errorBody, errorObject } from "../shared/openai-errors.ts";
