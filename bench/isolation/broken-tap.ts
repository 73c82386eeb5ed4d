import { Tap } from '../../src/proxy/tap.ts';

/** To be loaded before the sidecar: from then on each of its taps throws. */
Tap.prototype.response = () => {
  throw new Error('this tap is broken on purpose');
};
