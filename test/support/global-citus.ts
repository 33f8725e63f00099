/** Global set-up of the project `citus`: its databases are on the cluster that CITUS_DATABASE_URL names. */
import type { TestProject } from 'vitest/node';

import type { TelemetryPlacement } from '../../src/db/placement.ts';
import { citusUrl } from './citus.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** of the telemetry of this project's databases */
    placement: TelemetryPlacement;
  }
}

/** Says where the databases are to be created. */
export default function setUp(project: TestProject): void {
  if (citusUrl === null) throw new Error('CITUS_DATABASE_URL is not set');
  project.provide('databaseUrl', citusUrl);
  project.provide('migratedTemplate', 'migrated');
  project.provide('placement', 'distributed');
}
