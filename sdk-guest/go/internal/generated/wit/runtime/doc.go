// Package runtime is the runtime of the generated exports. Only a build for WebAssembly has it.
package runtime
