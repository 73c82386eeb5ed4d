import { describe, expect, it } from 'vitest';
import { createNegotiation } from '../../src/judge/negotiate.ts';

describe('questions that were under way at the same time', () => {
  it('cannot step down from a format that one of them was answered in', () => {
    const negotiation = createNegotiation();
    negotiation.accepted('json_schema');
    expect(negotiation.rejected('json_schema')).toBe(false);
    expect(negotiation.format()).toBe('json_schema');
  });

  it('go back to the format that one of them was answered in', () => {
    const negotiation = createNegotiation();
    expect(negotiation.rejected('json_schema')).toBe(true);
    negotiation.accepted('json_schema');
    expect(negotiation.format()).toBe('json_schema');
  });

  it('step down once for all of them, and are put again in the format of the present', () => {
    const negotiation = createNegotiation();
    expect([negotiation.rejected('json_schema'), negotiation.rejected('json_schema')]).toEqual([true, true]);
    expect(negotiation.format()).toBe('tool');
    negotiation.accepted('tool');
    expect(negotiation.rejected('json_schema')).toBe(true);
    expect(negotiation.rejected('tool')).toBe(false);
    expect(negotiation.format()).toBe('tool');
  });
});
