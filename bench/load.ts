/**
 * Sends prepared bodies over a fixed number of keep-alive connections and waits for every answer.
 */
import { Agent, request } from 'node:http';

export interface LoadResult {
  readonly acknowledged: number;
  readonly seconds: number;
}

function post(url: URL, key: string, body: Buffer, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      {
        method: 'POST',
        agent,
        headers: {
          'content-type': 'application/json',
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
): Promise<LoadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  let acknowledged = 0;
  let next = 0;
  const sender = async (): Promise<void> => {
    for (let body = bodies[next++]; body !== undefined; body = bodies[next++]) {
      const status = await post(url, key, body, agent);
      if (status !== 200) throw new Error(`a request was answered ${status}`);
      acknowledged += 1;
    }
  };
  const startedAt = performance.now();
  try {
    await Promise.all(Array.from({ length: connections }, sender));
  } finally {
    agent.destroy();
  }
  const seconds = (performance.now() - startedAt) / 1000;
  return { acknowledged, seconds };
}
