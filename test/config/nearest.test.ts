import { describe, expect, it } from 'vitest';
import { nearest } from '../../src/config/nearest.ts';

describe('the nearest known name', () => {
  it.each([
    ['modle', 'model'],
    ['api_kye', 'api_key'],
    ['apiKey', 'api_key'],
    ['baseUrl', 'base_url'],
    ['mode', 'model'],
    ['MODEL', 'model'],
  ])('for %s is %s', (unknown, meant) => {
    expect(nearest(unknown, ['base_url', 'model', 'api_key', 'timeout'])).toBe(meant);
  });

  it('is none when nothing is near', () => {
    expect(nearest('temperature', ['model', 'base_url'])).toBeUndefined();
    expect(nearest('', ['model'])).toBeUndefined();
  });
});
