/**
 * One keep-alive connection that sends one request at a time and reads no more of an answer than it
 * must: its status and where it ends. Node's own HTTP client costs several times as much, on the
 * cores that are measured.
 */
import { connect, type Socket } from 'node:net';

const HEAD_END = '\r\n\r\n';
const READ_BYTES = 16 * 1024;
const CONTENT_LENGTH = /\r\ncontent-length: (\d+)/i;

/** The bytes of an answer, head and body; null when its head is not complete. */
export function answerLength(text: string): number | null {
  const headEnd = text.indexOf(HEAD_END);
  if (headEnd === -1) return null;
  const length = CONTENT_LENGTH.exec(text.slice(0, headEnd + 2))?.[1];
  if (length === undefined) throw new Error(`an answer without length: ${text.slice(0, 200)}`);
  return headEnd + HEAD_END.length + Number(length);
}

export class Sender {
  readonly #socket: Socket;
  #answer = '';
  #onAnswer: ((status: number) => void) | null = null;
  #onFailure: (error: Error) => void;

  private constructor(host: string, port: number, onFailure: (error: Error) => void) {
    this.#onFailure = onFailure;
    this.#socket = connect({
      host,
      port,
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafeSlow(READ_BYTES),
        callback: (count, buffer) => {
          this.#read(Buffer.from(buffer.buffer, buffer.byteOffset, count).toString('latin1'));
          return true;
        },
      },
    });
    this.#socket.on('error', (error) => this.#onFailure(error));
    this.#socket.on('close', () => this.#onFailure(new Error('a connection was closed')));
  }

  /** @param onFailure called when the connection fails or is closed by the other side */
  static async open(url: URL, onFailure: (error: Error) => void): Promise<Sender> {
    const sender = new Sender(url.hostname, Number(url.port), onFailure);
    await new Promise<void>((resolve, reject) => {
      sender.#socket.once('connect', resolve);
      sender.#socket.once('error', reject);
    });
    return sender;
  }

  #read(text: string): void {
    this.#answer += text;
    const length = answerLength(this.#answer);
    if (length === null || this.#answer.length < length) return;
    const status = Number(this.#answer.slice(9, 12));
    this.#answer = '';
    const onAnswer = this.#onAnswer;
    this.#onAnswer = null;
    if (onAnswer === null) this.#onFailure(new Error('an answer without a request'));
    else onAnswer(status);
  }

  /** Sends a request; the one before must have been answered, and the bytes stay as they are. */
  send(bytes: Buffer, onAnswer: (status: number) => void): void {
    this.#onAnswer = onAnswer;
    this.#socket.write(bytes);
  }

  close(): void {
    this.#onFailure = () => {};
    this.#socket.destroy();
  }
}
