// The grid as the scenario writes it: PATH=VALUE,VALUE with bars between the axes.
export interface GridAxis { id: string; values: string }

export function parseGrid(text: string): GridAxis[] {
  return text.split('|').filter((axis) => axis.trim() !== '').map((axis) => {
    const [id = '', ...values] = axis.split('=');
    return { id: id.trim(), values: values.join('=').trim() };
  });
}

export function gridText(axes: readonly GridAxis[]): string {
  return axes.map(({ id, values }) => `${id}=${values}`).join('|');
}
