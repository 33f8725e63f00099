/**
 * What a model answers to a request, whichever provider's API it came over. Decided from the request
 * alone: with the tool's result in it comes the answer, with a known tool in it the call, and requests
 * besides the conversation (titles, summaries) get a neutral word.
 */
import { ANSWER, MARKS, TOOL_ARGS, TOOL_NAME } from '../story.ts';

export interface ToolCall {
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export type Reply = { readonly text: string } | { readonly call: ToolCall };

/** Prints a file of the run's folder that holds the tool's result; the arguments are a comment. */
const COMMAND = `cat parcel.txt # ${TOOL_ARGS}`;
const DESCRIPTION = 'Prints the state of a parcel';

/** The arguments of the tools that clients have: ours, and the shells of coding agents. */
const TOOLS: Readonly<Record<string, ToolCall['input']>> = {
  [TOOL_NAME]: { number: TOOL_ARGS },
  Bash: { command: COMMAND, description: DESCRIPTION },
  bash: { command: COMMAND, description: DESCRIPTION },
  run_shell_command: { command: COMMAND, description: DESCRIPTION, is_background: false },
  exec_command: { cmd: COMMAND },
  shell_command: { command: COMMAND },
  shell: { command: ['bash', '-lc', COMMAND] },
  // Of an MCP server, where there is no shell.
  [`mcp__parcels__${TOOL_NAME}`]: { number: TOOL_ARGS },
};

/**
 * @param body of the request, as it came
 * @param tools names of the tools on offer
 */
export function replyTo(body: string, tools: readonly string[]): Reply {
  if (body.includes(MARKS.toolResult)) return { text: ANSWER };
  const name = Object.keys(TOOLS).find((one) => tools.includes(one));
  const input = name === undefined ? undefined : TOOLS[name];
  return name === undefined || input === undefined ? { text: 'Parcel' } : { call: { name, input } };
}

/** Half of a text, and the other half: an answer that is streamed comes in pieces. */
export function halvesOf(text: string): [string, string] {
  return [text.slice(0, text.length >> 1), text.slice(text.length >> 1)];
}

/** Server-sent events. */
export function eventStream(
  events: readonly (readonly [string | null, object | string])[],
): string {
  return events
    .map(([name, data]) => {
      const text = typeof data === 'string' ? data : JSON.stringify(data);
      return `${name === null ? '' : `event: ${name}\n`}data: ${text}\n\n`;
    })
    .join('');
}
