// web/bundle.js makes the module.

/** The builds in this package: name -> import of its bytes, in hexadecimal. */
export declare const builds: Readonly<Partial<Record<string, () => Promise<{ default: string }>>>>
