import { createFastMatcher } from '../../src/engine/fast/fast-matcher.ts';
import { describeMatcher } from './matcher-suite.ts';

describeMatcher('fast matcher', (rules) => createFastMatcher(rules));
