// Before anything is drawn: the looks that the address asks for; and whether it asks for another part of the
// page than the opening, which is there already.
{
  const { dataset, classList } = document.documentElement
  const query = new URLSearchParams(location.search)
  for (const name of ['theme', 'size', 'show']) if (query.has(name)) dataset[name] = query.get(name) ?? ''
  classList.toggle('elsewhere', query.has('embed') || location.hash.length > 1)
}
