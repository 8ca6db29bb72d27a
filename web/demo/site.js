/**
 * The page with the address at which it will be served. Previews of links need whole addresses: without one,
 * the tags that name it are left out.
 *
 * @param {string} page
 * @param {string} [site]
 */
export const nameSite = (page, site = process.env.GPT_LAYERS_SITE) =>
  site
    ? page.replaceAll('%SITE%', new URL('./', site).href)
    : page.replace(/ *<(link|meta)[^>]*(%SITE%|og:image)[^>]*>\n/g, '')
