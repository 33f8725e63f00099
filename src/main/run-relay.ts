/**
 * The process of `sluice relay`: lock, start, summary, signals, stop. A first SIGINT, SIGTERM or
 * SIGHUP stops cleanly, a second one ends the process at once; either way nothing acknowledged is lost.
 */
import { claimOwnership, type Ownership } from '../db/embedded/owner.ts';
import { OperatorError } from '../errors.ts';
import { isLoopback } from '../local-host.ts';
import { openQueueFolder } from '../relay/queue/disk-queue.ts';
import { type OpenRelay, openRelay, type RelaySettings } from '../relay/relay.ts';
import { reportFailure } from '../terminal/output.ts';
import { programVersion } from './program-version.ts';
import { onStopSignal } from './stop-order.ts';

const MIB = 1024 * 1024;

function mebibytes(bytes: number): string {
  return `${(bytes / MIB).toFixed(bytes % MIB === 0 ? 0 : 1)} MiB`;
}

function summary(settings: Omit<RelaySettings, 'version'>, url: string, waiting: number): string {
  return [
    `sluice relay ${programVersion()}`,
    '',
    `  takes     ${url}/v1/traces, /v1/metrics, /v1/logs  (OTLP/HTTP, protobuf or JSON)`,
    `  sends to  ${settings.url}`,
    `  queue     ${settings.queueFolder}  (${mebibytes(waiting)} of ${mebibytes(settings.queueBytesMax)})`,
    `  metrics   ${url}/metrics`,
    '',
    '  In the environment of the agent:',
    `    export OTEL_EXPORTER_OTLP_ENDPOINT="${url}"`,
    '    export OTEL_EXPORTER_OTLP_PROTOCOL="http/protobuf"',
    '',
    'Stop: Ctrl-C.',
    '',
  ].join('\n');
}

/** @returns the exit code */
async function stop(relay: OpenRelay, lock: Ownership): Promise<number> {
  try {
    await relay.close();
    relay.events.stopped(relay.queueBytes());
    await lock.release();
    return 0;
  } catch (error) {
    reportFailure(error);
    return 1;
  }
}

/** @throws {OperatorError} when the queue folder or the address is in use, or another user can change the folder */
export async function runRelay(given: Omit<RelaySettings, 'version'>): Promise<void> {
  const queueFolder = openQueueFolder(given.queueFolder);
  const setup = { ...given, queueFolder };
  const lock = await claimOwnership(queueFolder);
  if (lock === null) {
    throw new OperatorError(
      `Another relay uses the queue in ${queueFolder}. Choose another folder with --queue-dir.`,
    );
  }
  try {
    const relay = await openRelay({ ...setup, version: programVersion() });
    if (!isLoopback(setup.host)) relay.events.exposed(setup.host);
    onStopSignal((signal) => {
      relay.events.stopping(signal);
      void stop(relay, lock).then(process.exit);
    });
    process.stdout.write(summary(setup, relay.url, relay.queueBytes()));
  } catch (error) {
    await lock.release();
    throw error;
  }
}
