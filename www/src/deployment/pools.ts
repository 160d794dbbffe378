// The pools of a fleet beside the first one, as the scenario writes them: PATH=VALUE with commas between settings and bars between pools.
export interface FleetPool { name: string; settings: [id: string, value: string][] }

/** A text that is not finished yet, in the middle of typing, keeps what can be read. */
export function parsePools(text: string): FleetPool[] {
  return text.split('|').filter((pool) => pool.trim() !== '').map((pool) => {
    const pairs = pool.split(',').map((setting) => setting.trim()).filter((setting) => setting !== '').map((setting): [string, string] => {
      const at = setting.indexOf('=');
      return at < 0 ? [setting, ''] : [setting.slice(0, at).trim(), setting.slice(at + 1).trim()];
    });
    return { name: pairs.find(([id]) => id === 'name')?.[1] ?? '', settings: pairs.filter(([id]) => id !== 'name') };
  });
}

export function poolsText(pools: readonly FleetPool[]): string {
  const text = ({ name, settings }: FleetPool): string => [...(name === '' ? [] : [['name', name] as const]), ...settings].map(([id, value]) => `${id}=${value}`).join(',');
  return pools.map(text).join('|');
}

/** A pool with another value of one setting; an empty one takes it out. */
export function withSetting(pool: FleetPool, id: string, value: string): FleetPool {
  const others = pool.settings.filter(([other]) => other !== id);
  return { ...pool, settings: value === '' ? others : [...others, [id, value]] };
}

export function settingOf({ settings }: FleetPool, id: string): string {
  return settings.find(([other]) => other === id)?.[1] ?? '';
}
