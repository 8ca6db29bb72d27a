// web/bundle.js makes the module.

/** The builds in this package: name -> import of its bytes, in hexadecimal. A copy may lack relaxed ones. */
export declare const builds: Readonly<Record<string, () => Promise<{ default: string }>>>
