/**
 * Makes the copies of uWebSockets.js for Node 20 on Linux that Sluice loads (docs/decisions/dependencies.md).
 *
 * That build's parser takes only letters, digits and hyphens for the name of a header. At any other
 * character it waits for more of the head, and the request gets no answer. Later builds take every
 * character of RFC 9110; none of them is for Node 20 and runs with glibc 2.36. The loop over the
 * characters of a name is replaced in a copy; nothing else is. The package itself stays as it is.
 *
 * A mend fits one file only: another digest is refused, as after an update of the package.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The build's number of Node 20 (`process.versions.modules`). */
const NODE_20 = 115;

/**
 * Both do the same. A character c is part of the name if bit c of 0x57ffffffc7fffffe_03ff6cfa00000000
 * is set: "!#$%&'*+-.^_`|~", digits and letters. Capitals are changed to small letters in place.
 */
const MENDS = [
  {
    arch: 'x64',
    digest: 'f4fa5d7b697529b45ac8aa3d57385d9af51bc1d2b26aa9f5b68ca4361542e665',
    mended: 'e570024120e97e22034f5476a6aede48a7dc4b9e0b122c49990a8cff0978a213',
    at: 0xee303,
    length: 86,
    filler: '90', // nop
    code: [
      '488b4c2408', //           mov    rcx, [rsp+8]    the header, for what follows
      '48bb00000000fa6cff03', // movabs rbx, 0x03ff6cfa00000000
      '48bdfeffffc7ffffff57', // movabs rbp, 0x57ffffffc7fffffe
      '410fb601', //         1:  movzx  eax, byte [r9]
      '4889de', //               mov    rsi, rbx
      '84c0', //                 test   al, al
      '7832', //                 js     3f
      '3c40', //                 cmp    al, 0x40
      '480f43f5', //             cmovae rsi, rbp
      '480fa3c6', //             bt     rsi, rax
      '7326', //                 jnc    3f
      '8d50bf', //               lea    edx, [rax-0x41]
      '80fa1a', //               cmp    dl, 0x1a
      '7305', //                 jae    2f
      '0c20', //                 or     al, 0x20
      '418801', //               mov    [r9], al
      '49ffc1', //           2:  inc    r9
      'ebd7', //                 jmp    1b              3: the next instruction that is kept
    ],
  },
  {
    arch: 'arm64',
    digest: '034e0fcccdc08f90df3b130f421516311831b1352fe38eab91abc2984c2fdf3a',
    mended: '986bef38df3254634ace73fa02155fe122d15cbd066286241757095ac8a4cbad',
    at: 0xe9ddc,
    length: 104,
    filler: '1f2003d5', // nop
    code: [
      '449fcdd2', //     movz x4, #0x6cfa, lsl #32
      'e47fe0f2', //     movk x4, #0x03ff, lsl #48
      'c5ff9fd2', //     movz x5, #0xfffe
      'e5ffb8f2', //     movk x5, #0xc7ff, lsl #16
      'e5ffdff2', //     movk x5, #0xffff, lsl #32
      'e5ffeaf2', //     movk x5, #0x57ff, lsl #48
      '02004039', // 1:  ldrb w2, [x0]
      '62023837', //     tbnz w2, #7, 3f
      '5f001a72', //     tst  w2, #0x40
      '8300859a', //     csel x3, x4, x5, eq
      '6324c29a', //     lsr  x3, x3, x2
      'e3010036', //     tbz  w3, #0, 3f
      '43040151', //     sub  w3, w2, #0x41
      '7f680071', //     cmp  w3, #0x1a
      '62000054', //     b.hs 2f
      '42001b32', //     orr  w2, w2, #0x20
      '02000039', //     strb w2, [x0]
      '00040091', // 2:  add  x0, x0, #1
      'f4ffff17', //     b    1b                 3: the next instruction that is kept
    ],
  },
];

const digestOf = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** The names of the copies, as in the package. */
export const MENDED_FILES = MENDS.map(({ arch }) => `uws_linux_${arch}_${NODE_20}.node`);

/** @throws {Error} for any other file than the one that the mend was made for */
export function mend(bytes, { arch, digest, mended, at, length, filler, code }) {
  if (digestOf(bytes) !== digest) {
    throw new Error(
      `uWebSockets.js for Node 20 (${arch}) is not the file that bin/mend-uws.js mends: run npm ci`,
    );
  }
  const fillers = (length - code.join('').length / 2) / (filler.length / 2);
  const copy = Buffer.from(bytes);
  copy.set(Buffer.from(code.join('') + filler.repeat(fillers), 'hex'), at);
  if (digestOf(copy) !== mended) throw new Error(`the mend of uWebSockets.js (${arch}) is faulty`);
  return copy;
}

/** Writes the mended copies of the package's files into a folder. */
export function writeMended(packageFolder, target) {
  for (const [at, name] of MENDED_FILES.entries()) {
    writeFileSync(join(target, name), mend(readFileSync(join(packageFolder, name)), MENDS[at]));
  }
}
