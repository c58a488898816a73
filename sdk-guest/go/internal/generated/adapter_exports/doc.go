// Package adapter_exports has the exports of the component. Only a build for WebAssembly has them.
package adapter_exports
