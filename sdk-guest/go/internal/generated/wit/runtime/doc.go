// Package runtime is that of the generated exports. Only a build for WebAssembly has it.
package runtime
