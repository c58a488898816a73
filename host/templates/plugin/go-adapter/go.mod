module adapter

go 1.27.1

require go.bytecodealliance.org/pkg v0.4.0

// The bindings' runtime is part of the project, so a build needs no network.
replace go.bytecodealliance.org/pkg => ./third_party/go.bytecodealliance.org/pkg
