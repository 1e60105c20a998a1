/** Three ships. */
export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#1d4fbf"/><g fill="#fff"><path d="M5 19h9l-2 4H7z"/><path d="M18 19h9l-2 4h-5z"/><path d="M10 11h12l-2.500 5h-7z" opacity=".8"/><path d="M15.300 4v6h4.500z" opacity=".8"/></g></svg>`;
