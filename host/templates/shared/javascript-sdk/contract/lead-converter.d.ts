// world leadhost:converter/lead-converter@1.0.0
export type * as LeadhostTypesCore100 from './interfaces/leadhost-types-core.js'; // import leadhost:types/core@1.0.0
export * as converter from './interfaces/leadhost-converter-converter.js'; // export leadhost:converter/converter@1.0.0
