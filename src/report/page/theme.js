'use strict';
// Theme of the page: that of the system, or the one that the reader chose. Runs before the body is
// parsed, so that nothing is painted in the wrong colours.

const THEMES = ['system', 'light', 'dark'];
const theme = (() => {
  // The style sheet has one rule for the dark theme; the choice changes the condition of the rule.
  const rule = [...document.styleSheets[0].cssRules]
      .find(one => one.media && one.media.mediaText.includes('prefers-color-scheme'));
  const conditions = {system: rule.media.mediaText, light: 'not all', dark: 'all'};
  // A browser can forbid a page to store anything; the choice then lasts as long as the page.
  let choice = 'system';
  try {
    choice = localStorage.getItem('tilewright-theme') || 'system';
  } catch (error) { /* not stored */ }
  const choose = name => {
    choice = THEMES.includes(name) ? name : 'system';
    rule.media.mediaText = conditions[choice];
  };
  choose(choice);
  return {
    choice: () => choice,
    choose(name) {
      choose(name);
      try {
        localStorage.setItem('tilewright-theme', choice);
      } catch (error) { /* not stored */ }
    },
  };
})();
