// world leadhost:adapter/channel-adapter@1.0.0
export type * as LeadhostTypesCore100 from './interfaces/leadhost-types-core.js'; // import leadhost:types/core@1.0.0
export * as adapter from './interfaces/leadhost-adapter-adapter.js'; // export leadhost:adapter/adapter@1.0.0
