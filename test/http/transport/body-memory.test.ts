import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BodyBytes, BodyMemory } from '../../../src/http/transport/body-memory.ts';
import { casesOf } from '../../support/cases.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

describe('the memory of bodies', () => {
  it('is used again, by powers of two', () => {
    const memory = new BodyMemory();
    const first = memory.take(5000);
    expect(first.length).toBe(8 * KIB);
    memory.release(first);
    expect(memory.keptBytes).toBe(8 * KIB);
    expect(memory.take(8000)).toBe(first);
    expect(memory.keptBytes).toBe(0);
    expect(memory.take(8000)).not.toBe(first);
  });

  it('keeps 32 MiB at most, and nothing that is large', () => {
    const memory = new BodyMemory();
    const buffers = Array.from({ length: 40 }, () => memory.take(MIB));
    for (const buffer of buffers) memory.release(buffer);
    expect(memory.keptBytes).toBe(32 * MIB);
    memory.release(memory.take(16 * MIB + 1));
    expect(memory.keptBytes).toBe(32 * MIB);
  });

  it('of a size that is no longer taken makes room for that of others', () => {
    const memory = new BodyMemory();
    const buffers = Array.from({ length: 32 }, () => memory.take(MIB));
    for (const buffer of buffers) memory.release(buffer);
    const large = memory.take(12 * MIB);
    memory.release(large);
    expect(memory.keptBytes).toBe(32 * MIB);
    expect(memory.take(16 * MIB)).toBe(large);
    expect(memory.keptBytes).toBe(16 * MIB);
  });
});

describe('a body as it comes', () => {
  const add = (body: BodyBytes, text: string, declared: number | null) =>
    body.add(Buffer.from(text), declared);

  it('is the chunks, one behind the other, whatever it declared', () => {
    const chunks = fc.array(fc.uint8Array({ minLength: 1, maxLength: 9000 }), { maxLength: 12 });
    const declared = fc.oneof(fc.constant(null), fc.nat({ max: 100_000 }));
    fc.assert(
      fc.property(chunks, declared, (parts, length) => {
        const body = new BodyBytes(new BodyMemory());
        for (const chunk of parts) body.add(chunk, length);
        expect(body.bytes.equals(Buffer.concat(parts))).toBe(true);
        expect(body.length).toBe(body.bytes.length);
      }),
      { numRuns: casesOf(200) },
    );
  });

  it('takes no more for a length that was only declared than four times what came', () => {
    const memory = new BodyMemory();
    const body = new BodyBytes(memory);
    add(body, 'a', MIB);
    body.release();
    expect(memory.keptBytes).toBe(4 * KIB);
  });

  it('is in one buffer when most of it comes at once', () => {
    const memory = new BodyMemory();
    const body = new BodyBytes(memory);
    body.add(Buffer.alloc(64 * KIB), 150 * KIB);
    body.add(Buffer.alloc(86 * KIB), 150 * KIB);
    body.release();
    expect(memory.keptBytes).toBe(256 * KIB);
  });

  it('gives each buffer back once, and shares none with another body', () => {
    const memory = new BodyMemory();
    const [one, other] = [new BodyBytes(memory), new BodyBytes(memory)];
    add(one, 'x'.repeat(5000), null);
    one.release();
    one.release();
    add(one, 'mine', 4);
    add(other, 'other', 5);
    expect([one.bytes.toString(), other.bytes.toString()]).toEqual(['mine', 'other']);
    expect(one.bytes.buffer).not.toBe(other.bytes.buffer);
  });
});
