import { expect, it } from 'vitest';
import { maskUrls } from '../../src/lib/mask-urls.ts';

it('masks user, password and query of every URL in a text', () => {
  expect(maskUrls('http://a:b@c and http://d:e@f')).toBe('http://****@c and http://****@f');
  expect(maskUrls('see https://host/v1?key=hunter2#part')).toBe('see https://host/v1?****#part');
});
