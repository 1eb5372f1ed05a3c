import type { OfferedGateway } from "./client-recipe.ts";

/** Something that is configured in the user's own code or shell: its text is printed, and nothing is written. */
export interface ClientSnippet {
  readonly id: string;
  readonly title: string;
  text(gateway: Pick<OfferedGateway, "url" | "model">): string;
}

const key = "process.env.EXCURSOR_API_KEY";

/** The key is not in them: they end up in repositories and shell histories. */
export const SNIPPETS: readonly ClientSnippet[] = [
  {
    id: "copilot-cli",
    title: "GitHub Copilot CLI",
    text: ({ url, model }) => `export COPILOT_PROVIDER_TYPE=openai
export COPILOT_PROVIDER_BASE_URL=${url}/v1
export COPILOT_PROVIDER_API_KEY="$(excursor key)"
export COPILOT_MODEL=${model}
copilot
`,
  },
  {
    id: "openai-sdk",
    title: "OpenAI SDK for JavaScript and Python",
    text: ({ url, model }) => `// JavaScript
const client = new OpenAI({ baseURL: "${url}/v1", apiKey: ${key} });
await client.chat.completions.create({ model: "${model}", messages: [{ role: "user", content: "hello" }] });

# Python
client = OpenAI(base_url="${url}/v1", api_key=os.environ["EXCURSOR_API_KEY"])
client.chat.completions.create(model="${model}", messages=[{"role": "user", "content": "hello"}])
`,
  },
  {
    id: "anthropic-sdk",
    title: "Anthropic SDK for JavaScript and Python",
    text: ({ url, model }) => `// JavaScript
const client = new Anthropic({ baseURL: "${url}", apiKey: ${key} });
await client.messages.create({ model: "${model}", max_tokens: 1024, messages: [{ role: "user", content: "hello" }] });

# Python
client = Anthropic(base_url="${url}", api_key=os.environ["EXCURSOR_API_KEY"])
client.messages.create(model="${model}", max_tokens=1024, messages=[{"role": "user", "content": "hello"}])
`,
  },
  {
    id: "ai-sdk",
    title: "Vercel AI SDK",
    text: ({ url, model }) => `const excursor = createOpenAICompatible({
  name: "excursor",
  baseURL: "${url}/v1",
  apiKey: ${key},
  includeUsage: true,
});
await generateText({ model: excursor("${model}"), prompt: "hello" });
`,
  },
  {
    id: "langchain",
    title: "LangChain for JavaScript and Python",
    text: ({ url, model }) => `// JavaScript
const model = new ChatOpenAI({ model: "${model}", apiKey: ${key}, configuration: { baseURL: "${url}/v1" } });
await model.invoke("hello");

# Python
model = ChatOpenAI(model="${model}", api_key=os.environ["EXCURSOR_API_KEY"], base_url="${url}/v1")
model.invoke("hello")
`,
  },
];
