/** Set-up of the unit tests: fast-check tries the same cases at every run, unless it is exhaustive. */
import fc from 'fast-check';

import { isExhaustive } from './exhaustive.ts';

if (!isExhaustive) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 20_261_122 });
