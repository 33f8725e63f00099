/**
 * The entries of the lists that rules refer to: OWASP's two Top 10 lists and the techniques of MITRE ATLAS 5.6
 * by tactic. Ids and names only. Pure; the page of coverage shows what no rule refers to.
 */

export interface FrameworkEntry {
  readonly id: string;
  readonly name: string;
}

export interface Tactic extends FrameworkEntry {
  /** ids of techniques; several tactics may have the same one */
  readonly techniques: readonly string[];
}

const entries = (names: Readonly<Record<string, string>>): FrameworkEntry[] =>
  Object.entries(names).map(([id, name]) => ({ id, name }));

export const OWASP_LLM = entries({
  'LLM01:2025': 'Prompt Injection',
  'LLM02:2025': 'Sensitive Information Disclosure',
  'LLM03:2025': 'Supply Chain',
  'LLM04:2025': 'Data and Model Poisoning',
  'LLM05:2025': 'Improper Output Handling',
  'LLM06:2025': 'Excessive Agency',
  'LLM07:2025': 'System Prompt Leakage',
  'LLM08:2025': 'Vector and Embedding Weaknesses',
  'LLM09:2025': 'Misinformation',
  'LLM10:2025': 'Unbounded Consumption',
});

export const OWASP_AGENTIC = entries({
  'ASI01:2026': 'Agent Goal Hijack',
  'ASI02:2026': 'Tool Misuse and Exploitation',
  'ASI03:2026': 'Identity and Privilege Abuse',
  'ASI04:2026': 'Agentic Supply Chain Vulnerabilities',
  'ASI05:2026': 'Unexpected Code Execution',
  'ASI06:2026': 'Memory and Context Poisoning',
  'ASI07:2026': 'Insecure Inter-Agent Communication',
  'ASI08:2026': 'Cascading Failures',
  'ASI09:2026': 'Human-Agent Trust Exploitation',
  'ASI10:2026': 'Rogue Agents',
});

/** @param techniques their ids without `AML.T` */
const tactic = (id: string, name: string, techniques: string): Tactic => ({
  id,
  name,
  techniques: techniques.split(' ').map((one) => `AML.T${one}`),
});

export const ATLAS_TECHNIQUES = entries({
  'AML.T0000': 'Search Open Technical Databases',
  'AML.T0001': 'Search Open AI Vulnerability Analysis',
  'AML.T0002': 'Acquire Public AI Artifacts',
  'AML.T0003': 'Search Victim-Owned Websites',
  'AML.T0004': 'Search Application Repositories',
  'AML.T0005': 'Create Proxy AI Model',
  'AML.T0006': 'Active Scanning',
  'AML.T0007': 'Discover AI Artifacts',
  'AML.T0008': 'Acquire Infrastructure',
  'AML.T0010': 'AI Supply Chain Compromise',
  'AML.T0011': 'User Execution',
  'AML.T0012': 'Valid Accounts',
  'AML.T0013': 'Discover AI Model Ontology',
  'AML.T0014': 'Discover AI Model Family',
  'AML.T0015': 'Evade AI Model',
  'AML.T0016': 'Obtain Capabilities',
  'AML.T0017': 'Develop Capabilities',
  'AML.T0018': 'Manipulate AI Model',
  'AML.T0019': 'Publish Poisoned Datasets',
  'AML.T0020': 'Poison Training Data',
  'AML.T0021': 'Establish Accounts',
  'AML.T0024': 'Exfiltration via AI Inference API',
  'AML.T0025': 'Exfiltration via Cyber Means',
  'AML.T0029': 'Denial of AI Service',
  'AML.T0031': 'Erode AI Model Integrity',
  'AML.T0034': 'Cost Harvesting',
  'AML.T0035': 'AI Artifact Collection',
  'AML.T0036': 'Data from Information Repositories',
  'AML.T0037': 'Data from Local System',
  'AML.T0040': 'AI Model Inference API Access',
  'AML.T0041': 'Physical Environment Access',
  'AML.T0042': 'Verify Attack',
  'AML.T0043': 'Craft Adversarial Data',
  'AML.T0044': 'Full AI Model Access',
  'AML.T0046': 'Spamming AI System with Chaff Data',
  'AML.T0047': 'AI-Enabled Product or Service',
  'AML.T0048': 'External Harms',
  'AML.T0049': 'Exploit Public-Facing Application',
  'AML.T0050': 'Command and Scripting Interpreter',
  'AML.T0051': 'LLM Prompt Injection',
  'AML.T0052': 'Phishing',
  'AML.T0053': 'AI Agent Tool Invocation',
  'AML.T0054': 'LLM Jailbreak',
  'AML.T0055': 'Unsecured Credentials',
  'AML.T0056': 'Extract LLM System Prompt',
  'AML.T0057': 'LLM Data Leakage',
  'AML.T0058': 'Publish Poisoned Models',
  'AML.T0059': 'Erode Dataset Integrity',
  'AML.T0060': 'Publish Hallucinated Entities',
  'AML.T0061': 'LLM Prompt Self-Replication',
  'AML.T0062': 'Discover LLM Hallucinations',
  'AML.T0063': 'Discover AI Model Outputs',
  'AML.T0064': 'Gather RAG-Indexed Targets',
  'AML.T0065': 'LLM Prompt Crafting',
  'AML.T0066': 'Retrieval Content Crafting',
  'AML.T0067': 'LLM Trusted Output Components Manipulation',
  'AML.T0068': 'LLM Prompt Obfuscation',
  'AML.T0069': 'Discover LLM System Information',
  'AML.T0070': 'RAG Poisoning',
  'AML.T0071': 'False RAG Entry Injection',
  'AML.T0072': 'Reverse Shell',
  'AML.T0073': 'Impersonation',
  'AML.T0074': 'Masquerading',
  'AML.T0075': 'Cloud Service Discovery',
  'AML.T0076': 'Corrupt AI Model',
  'AML.T0077': 'LLM Response Rendering',
  'AML.T0078': 'Drive-by Compromise',
  'AML.T0079': 'Stage Capabilities',
  'AML.T0080': 'AI Agent Context Poisoning',
  'AML.T0081': 'Modify AI Agent Configuration',
  'AML.T0082': 'RAG Credential Harvesting',
  'AML.T0083': 'Credentials from AI Agent Configuration',
  'AML.T0084': 'Discover AI Agent Configuration',
  'AML.T0085': 'Data from AI Services',
  'AML.T0086': 'Exfiltration via AI Agent Tool Invocation',
  'AML.T0087': 'Gather Victim Identity Information',
  'AML.T0088': 'Generate Deepfakes',
  'AML.T0089': 'Process Discovery',
  'AML.T0090': 'OS Credential Dumping',
  'AML.T0091': 'Use Alternate Authentication Material',
  'AML.T0092': 'Manipulate User LLM Chat History',
  'AML.T0093': 'Prompt Infiltration via Public-Facing Application',
  'AML.T0094': 'Delay Execution of LLM Instructions',
  'AML.T0095': 'Search Open Websites/Domains',
  'AML.T0096': 'AI Service API',
  'AML.T0097': 'Virtualization/Sandbox Evasion',
  'AML.T0098': 'AI Agent Tool Credential Harvesting',
  'AML.T0099': 'AI Agent Tool Data Poisoning',
  'AML.T0100': 'AI Agent Clickbait',
  'AML.T0101': 'Data Destruction via AI Agent Tool Invocation',
  'AML.T0102': 'Generate Malicious Commands',
  'AML.T0103': 'Deploy AI Agent',
  'AML.T0104': 'Publish Poisoned AI Agent Tool',
  'AML.T0105': 'Escape to Host',
  'AML.T0106': 'Exploitation for Credential Access',
  'AML.T0107': 'Exploitation for Defense Evasion',
  'AML.T0108': 'AI Agent',
  'AML.T0109': 'AI Supply Chain Rug Pull',
  'AML.T0110': 'AI Agent Tool Poisoning',
  'AML.T0111': 'AI Supply Chain Reputation Inflation',
  'AML.T0112': 'Machine Compromise',
});

/** In the order of the ATLAS matrix. */
export const ATLAS_TACTICS: readonly Tactic[] = [
  tactic('AML.TA0002', 'Reconnaissance', '0000 0001 0003 0004 0006 0064 0087 0095'),
  tactic(
    'AML.TA0003',
    'Resource Development',
    '0002 0008 0016 0017 0019 0020 0021 0058 0060 0065 0066 0079 0104',
  ),
  tactic('AML.TA0004', 'Initial Access', '0010 0012 0015 0049 0052 0078 0093'),
  tactic('AML.TA0000', 'AI Model Access', '0040 0041 0044 0047'),
  tactic('AML.TA0005', 'Execution', '0011 0050 0051 0053 0100 0103'),
  tactic('AML.TA0006', 'Persistence', '0018 0020 0061 0070 0080 0081 0093 0099 0110'),
  tactic('AML.TA0012', 'Privilege Escalation', '0012 0053 0054 0105'),
  tactic(
    'AML.TA0007',
    'Defense Evasion',
    '0015 0054 0067 0068 0071 0073 0074 0076 0081 0092 0094 0097 0107 0109 0111',
  ),
  tactic('AML.TA0013', 'Credential Access', '0055 0082 0083 0090 0098 0106'),
  tactic('AML.TA0008', 'Discovery', '0007 0013 0014 0062 0063 0069 0075 0084 0089'),
  tactic('AML.TA0015', 'Lateral Movement', '0052 0091'),
  tactic('AML.TA0009', 'Collection', '0035 0036 0037 0085'),
  tactic('AML.TA0001', 'AI Attack Staging', '0005 0018 0042 0043 0088 0102'),
  tactic('AML.TA0014', 'Command and Control', '0072 0096 0108'),
  tactic('AML.TA0010', 'Exfiltration', '0024 0025 0056 0057 0077 0086'),
  tactic('AML.TA0011', 'Impact', '0015 0029 0031 0034 0046 0048 0059 0101 0112'),
];
