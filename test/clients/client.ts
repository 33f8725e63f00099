/** A client of the suite: which page of docs/send it is set up by, and which program uses it. */

export interface Client {
  /** as the table names it */
  readonly name: string;
  /** the npm package whose version the table shows */
  readonly package: string;
  /** of docs/send, without its ending */
  readonly page: string;
  /** the heading of its part of the page; default: the whole page */
  readonly section?: string;
  /** the program in `agents`, when the page's commands start one */
  readonly agent?: string;
  /** what starts the client after the page's commands, when they do not; it prints its answer */
  readonly command?: string;
  /** its tool writes the command that it ran into its result */
  readonly echoesCommand?: boolean;
  /** other files in its folder, by name */
  readonly texts?: Readonly<Record<string, string>>;
  /** environment variables beside those of the page: addresses and keys of the provider */
  readonly env?: (providerUrl: string) => Readonly<Record<string, string>>;
  /** where blocks of the page are written, by language; default: `telemetry.mjs` for js */
  readonly files?: Readonly<Record<string, string>>;
  /** packages of this folder that the program gets under another name, by that name */
  readonly packages?: Readonly<Record<string, string>>;
  /** sends protobuf, to a relay */
  readonly isRelayed?: boolean;
  /** environment variables that switch text off, where a client has them */
  readonly withheld?: Readonly<Record<string, string>>;
}
