// Runs before the first paint. It sets the theme and the size that the address asks for, and hides the still
// opening where the address asks for another part of the page.
{
  const { dataset, classList } = document.documentElement
  const query = new URLSearchParams(location.search)
  for (const name of ['theme', 'size', 'show']) if (query.has(name)) dataset[name] = query.get(name) ?? ''
  classList.toggle('elsewhere', query.has('embed') || location.hash.length > 1)
}
