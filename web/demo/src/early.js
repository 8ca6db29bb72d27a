// Runs before the first paint. It sets the theme and the size that the address asks for, and hides the still
// opening where the address asks for another part of the page. It also sets the page's zoom.
{
  const root = document.documentElement
  const { dataset, classList, style } = root
  const query = new URLSearchParams(location.search)
  for (const name of ['theme', 'size', 'show']) if (query.has(name)) dataset[name] = query.get(name) ?? ''
  classList.toggle('elsewhere', query.has('embed') || location.hash.length > 1)

  // Text and figures grow together: with the reader's default size of text, and on a screen from 1600 pixels
  // on, where a section that fits 720 pixels still fits. A figure needs 320 pixels: on a narrow phone, text
  // grows further than figures. Where the zoom cannot be read, text grows alone.
  if ('currentCSSZoom' in root) {
    const own = parseFloat(getComputedStyle(root).fontSize)
    const fit = () => {
      const screen = innerWidth >= 100 * own ? Math.min(innerWidth / 1455, innerHeight / 720) : 1
      const grown = Math.max(own / 16, screen)
      const zoom = Math.max(1, Math.min(grown, innerWidth / 320))
      style.setProperty('--zoom', String(zoom))
      style.fontSize = `${(16 * grown) / zoom}px`
    }
    fit()
    addEventListener('resize', fit)
  }
}
