/** The filter of rules and findings by what the rules refer to. */
import { z } from 'zod';

import { REFERENCE_FORM } from '../../../model/references/rule-references.ts';

/** The references of rules, as a filter. @param of the filtered resource */
export const referenceQuery = (of: string) =>
  z
    .string()
    .regex(
      REFERENCE_FORM,
      'must look like AML.T0051, AML.TA0005, LLM01, ASI01, T1059, CWE-22 or CVE-2026-1234',
    )
    .optional()
    .describe(
      `Only ${of} that refer to this: a technique of MITRE ATLAS or ATT&CK with its sub-techniques, a tactic of ATLAS, ` +
        'an entry of an OWASP Top 10, a weakness or a vulnerability.',
    );
