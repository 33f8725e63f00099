/** What parsed sources are checked for: one file, because parsing all of them takes a second or two. */
import './assertions.ts';
import './exports.ts';
import './imports.ts';
import './language.ts';
