/** The code under test: asks a model, runs the tools that it calls, and returns its final text. */
export async function askWithTools(client, prompt, tools) {
  const messages = [{ role: "user", content: prompt }];
  const offered = Object.keys(tools).map((name) => ({ type: "function", function: { name, parameters: {} } }));
  for (;;) {
    const { choices } = await client.chat.completions.create({ model: "auto", messages, tools: offered });
    const { message } = choices[0];
    if (!message.tool_calls?.length) return message.content;
    messages.push(message);
    for (const { id, function: call } of message.tool_calls) {
      const content = await tools[call.name](JSON.parse(call.arguments));
      messages.push({ role: "tool", tool_call_id: id, content });
    }
  }
}
