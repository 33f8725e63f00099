/**
 * Sends prepared bodies over a fixed number of keep-alive connections and waits for every answer.
 */
import { Agent, request } from 'node:http';

export interface LoadResult {
  readonly acknowledged: number;
  readonly seconds: number;
  /** time to acknowledgement of each request, milliseconds, unsorted */
  readonly latenciesMs: readonly number[];
}

export function post(
  url: URL,
  key: string,
  body: Buffer,
  agent: Agent,
  contentType: string,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      {
        method: 'POST',
        agent,
        headers: {
          'content-type': contentType,
          'content-length': body.length,
          authorization: `Bearer ${key}`,
        },
      },
      (response) => {
        response.resume();
        response.once('end', () => resolve(response.statusCode ?? 0));
        response.once('error', reject);
      },
    );
    outgoing.once('error', reject);
    outgoing.end(body);
  });
}

/**
 * Posts every body once.
 *
 * @throws when an answer is anything but 200: a load that is refused measures nothing
 */
export async function sendAll(
  url: URL,
  key: string,
  bodies: readonly Buffer[],
  connections: number,
  contentType = 'application/json',
): Promise<LoadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const latenciesMs: number[] = [];
  let next = 0;
  const sender = async (): Promise<void> => {
    for (let body = bodies[next++]; body !== undefined; body = bodies[next++]) {
      const sentAt = performance.now();
      const status = await post(url, key, body, agent, contentType);
      if (status !== 200) throw new Error(`a request was answered ${status}`);
      latenciesMs.push(performance.now() - sentAt);
    }
  };
  const startedAt = performance.now();
  try {
    await Promise.all(Array.from({ length: connections }, sender));
  } finally {
    agent.destroy();
  }
  const seconds = (performance.now() - startedAt) / 1000;
  return { acknowledged: latenciesMs.length, seconds, latenciesMs };
}
