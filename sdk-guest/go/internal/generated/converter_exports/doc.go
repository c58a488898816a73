// Package converter_exports has the exports of the component. Only a build for WebAssembly has them.
package converter_exports
