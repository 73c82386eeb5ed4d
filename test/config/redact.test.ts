import { describe, expect, it } from 'vitest';
import { showGiven } from '../../src/config/redact.ts';

describe('what a message shows of a given value', () => {
  it('is nothing of a secret, not even its length', () => {
    expect(showGiven('sk-1', { secret: true })).toBe(showGiven('sk-1234567890', { secret: true }));
    expect(showGiven('sk-1', { secret: true })).not.toContain('sk');
  });

  it('leaves out user, password and query of a URL, whatever the scheme', () => {
    expect(showGiven('redis://user:hunter2@host:6379/0')).toBe('"redis://****@host:6379/0"');
    expect(showGiven('https://host/v1?key=hunter2&x=1')).toBe('"https://host/v1?****"');
  });

  it('stays on one line and is cut when long', () => {
    const shown = showGiven(`a\n${'b'.repeat(500)}`);
    expect(shown).not.toContain('\n');
    expect(shown.length).toBeLessThan(100);
  });
});
