import type { Panel, Row } from './model.ts';
import type { PanelSpec } from './panels.ts';

export interface RowSpec {
  readonly title: string;
  readonly collapsed?: boolean;
  readonly repeat?: string;
  readonly panels: readonly PanelSpec[];
}

/** Columns of Grafana's grid. */
const COLUMNS = 24;

/**
 * Gives every panel an id and a place: left to right, a new line when a panel no longer fits, lines as high as their
 * highest panel. The panels of a collapsed row are nested in it, those of an open one follow it, as Grafana has it.
 */
export function layout(rows: readonly RowSpec[]): (Panel | Row)[] {
  let id = 0;
  let y = 0;
  return rows.flatMap(({ title, collapsed = false, repeat, panels }): (Panel | Row)[] => {
    const row = {
      id: ++id,
      type: 'row' as const,
      title,
      collapsed,
      ...(repeat === undefined ? {} : { repeat }),
      gridPos: { x: 0, y: y++, w: COLUMNS, h: 1 },
    };
    let x = 0;
    let lineHeight = 0;
    const placed = panels.map(({ width, height, ...panel }): Panel => {
      if (x + width > COLUMNS) {
        x = 0;
        y += lineHeight;
        lineHeight = 0;
      }
      const gridPos = { x, y, w: width, h: height };
      x += width;
      lineHeight = Math.max(lineHeight, height);
      return { id: ++id, ...panel, gridPos };
    });
    y += lineHeight;
    return collapsed ? [{ ...row, panels: placed }] : [{ ...row, panels: [] }, ...placed];
  });
}
