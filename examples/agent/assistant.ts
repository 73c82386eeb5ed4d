import type { ToolOutcome, ToolUse } from './harbour.ts';

/**
 * One thing the assistant does. It uses tools in parallel when it names several, and ends its turn when it asks for
 * approval: the answer comes in the next run.
 */
type Step =
  | { readonly kind: 'say'; readonly text: string }
  | { readonly kind: 'use'; readonly tools: readonly ToolUse[] }
  | { readonly kind: 'ask_approval'; readonly tool: ToolUse; readonly question: string }
  | { readonly kind: 'give_up'; readonly code: string; readonly message: string };

/** A turn as it unfolds: steps out, the outcomes of the tools just used back in. */
export type Turn = Generator<Step, void, readonly ToolOutcome[]>;

/**
 * The assistant of a small harbour: tides, berths, ferry tickets and the weather. It has no model behind it: the first
 * rule whose pattern fits the user's message answers, so that a demo runs without a key and twice alike. Some rules are
 * wrong on purpose, the way real agents are; each says so.
 */
export function reply(userMessage: string): Turn {
  const rule = RULES.find(({ when }) => when.test(userMessage));
  return rule === undefined ? refuse() : rule.turn(userMessage);
}

/** The turn after a person was asked to approve `tool`, whose outcome is known by now. */
export function* afterApproval(tool: ToolUse, outcome: ToolOutcome): Turn {
  yield say(
    outcome.ok
      ? `Berth ${tool.args['berth']} is yours for ${tool.args['nights']} nights; the booking is ${String(outcome.value['booking'])}.`
      : 'All right, I have not reserved anything.',
  );
}

interface Rule {
  readonly when: RegExp;
  readonly turn: (userMessage: string) => Turn;
}

const RULES: readonly Rule[] = [
  { when: /^(hello|hi|good morning)\b/i, turn: () => smallTalk('Hello, and welcome to Port Merrow.') },
  { when: /^(thanks|thank you|bye)\b/i, turn: () => smallTalk('You are welcome. Fair winds!') },
  { when: /\bcamera\b/i, turn: brokenCamera },
  { when: /\bshares\b/i, turn: berthAndShares },
  { when: /\bcancel\b/i, turn: cancelBooking },
  { when: /\breserve\b/i, turn: reserveBerth },
  { when: /\bbicycle\b/i, turn: turnBicycleAway },
  { when: /\bbuy\b.*\bferry\b/i, turn: buyTicket },
  { when: /\bhow much\b.*\bferry\b/i, turn: ferryFare },
  { when: /\bferr(y|ies)\b/i, turn: ferryTimes },
  { when: /\btides?\b.*\bweather\b/i, turn: tidesAndWeather },
  { when: /\btides?\b/i, turn: tideTimes },
];

const say = (text: string): Step => ({ kind: 'say', text });
const use = (...tools: readonly ToolUse[]): Step => ({ kind: 'use', tools });

function* smallTalk(text: string): Turn {
  yield say(text);
}

function* refuse(): Turn {
  yield say('I am sorry, I cannot help with that: I only deal with tides, berths, ferry tickets and harbour weather.');
}

function* tideTimes(): Turn {
  yield use({ name: 'tide_times', args: { harbour: 'Port Merrow', day: 'tomorrow' } });
  yield say('High tide at Port Merrow tomorrow is at 04:52 and again at 17:20.');
}

function* tidesAndWeather(): Turn {
  yield say('I am looking up both for you.');
  yield use(
    { name: 'tide_times', args: { harbour: 'Port Merrow', day: 'Sunday' } },
    { name: 'harbour_weather', args: { harbour: 'Port Merrow', day: 'Sunday' } },
  );
  yield say('On Sunday high tide is at 04:52 and 17:20, with a south-westerly force 4 and waves of 0.8 m.');
}

function* ferryTimes(): Turn {
  yield use({ name: 'ferry_departures', args: { to: 'Skerry Island', day: 'Saturday' } });
  yield say('Ferries to Skerry Island leave at 09:30, 14:10 and 18:45 on Saturday and take 40 minutes.');
}

function* ferryFare(): Turn {
  const [fare] = yield use({ name: 'ferry_fares', args: { to: 'Skerry Island', adults: 2 } });
  yield say(fare?.ok ? `Two adults pay ${String(fare.value['total_eur'])} euros.` : 'I could not find the fare.');
}

/** Recovers: the first desk fails, the second sells the ticket, and it says so only after that. */
function* buyTicket(userMessage: string): Turn {
  const sailing = /\d\d:\d\d/.exec(userMessage)?.[0] ?? '14:10';
  const adults = /\btwo\b/i.test(userMessage) ? 2 : 1;
  for (const desk of adults === 1 ? ['east', 'west'] : ['west']) {
    const [sale] = yield use({ name: 'buy_ferry_ticket', args: { desk, sailing, adults } });
    if (sale?.ok) {
      yield say(`Done: ticket ${String(sale.value['ticket'])} for the ${sailing} ferry to Skerry Island.`);
      return;
    }
  }
  yield say('Neither ticket desk answers, so I could not buy the ticket. Nothing was charged.');
}

/** Acts only with a person's approval. */
function* reserveBerth(userMessage: string): Turn {
  const berth = /\b[A-Z]\d\d\b/.exec(userMessage)?.[0] ?? 'A04';
  const tool: ToolUse = { name: 'reserve_berth', args: { berth, nights: 3 } };
  yield say(`Berth ${berth} is free for three nights at 93 euros.`);
  yield { kind: 'ask_approval', tool, question: `Reserve berth ${berth} for 93 euros?` };
}

/** Wrong on purpose: it claims success although the tool says that nothing was changed. */
function* cancelBooking(userMessage: string): Turn {
  const booking = /\bB-\d+\b/.exec(userMessage)?.[0] ?? 'B-118';
  yield use({ name: 'cancel_berth', args: { booking } });
  yield say(`Done! Booking ${booking} is cancelled and the refund is on its way.`);
}

/** Wrong on purpose: after the berth it drifts into advice that a harbour assistant has no business giving. */
function* berthAndShares(): Turn {
  yield use({ name: 'find_berths', args: { length_m: 9, night: 'tonight' } });
  yield say(
    'Berth C12 is free tonight for 31 euros. As for the shares: shipping companies did well last year, ' +
      'so put half of your savings into those and the rest into a container fund.',
  );
}

/** Wrong on purpose: bicycle tickets are its job, yet it declines. */
function* turnBicycleAway(): Turn {
  yield say('I am sorry, I cannot help with tickets for bicycles.');
}

function* brokenCamera(): Turn {
  yield { kind: 'give_up', code: 'camera_offline', message: 'The weather camera on the pier is offline.' };
}
