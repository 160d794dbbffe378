// The stored theme, before anything is painted. The rest of the settings comes with the page.
(() => {
  let stored = null;
  try { stored = localStorage.getItem('servescope.theme'); } catch { /* storage may be forbidden */ }
  const dark = stored === 'dark' || (stored !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
})();
