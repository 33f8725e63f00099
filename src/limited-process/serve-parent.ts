/**
 * The child's end of `limited-process.ts`: takes the parent's messages and sends answers. The process
 * ends with its parent and ignores signals, which are the parent's; an exception ends it and is
 * rejected in the parent.
 */
import type { FromChild } from './limited-process.ts';
import {
  type ChannelPart,
  MessageAssembler,
  type ReceivedMessage,
  sendMessage,
} from './messages.ts';

export type SendAnswer<Message> = (message: Message, bytes?: Uint8Array) => Promise<void>;

function send(part: FromChild<unknown>): Promise<void> {
  return new Promise((resolve, reject) => {
    if (process.send === undefined) throw new Error('runs as a child process only');
    process.send(part, undefined, undefined, (error) =>
      error === null ? resolve() : reject(error),
    );
  });
}

/** Calls `take` with every message of the parent. Its rejection ends the process. */
export function serveParent<To, From>(
  take: (received: ReceivedMessage<To>, answer: SendAnswer<From>) => Promise<void>,
): void {
  // A terminal or service manager signals every process of the group; the parent handles it.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  process.on('disconnect', () => process.exit());
  process.on('uncaughtException', (exception) => {
    void send({ exception }).finally(() => process.exit(1));
  });
  const messages = new MessageAssembler<To>();
  process.on('message', (part: ChannelPart<To>) => {
    const received = messages.take(part);
    if (received === null) return;
    void take(received, (message, bytes) => sendMessage(send, message, bytes));
  });
}
