module {{name}}

go 1.27.1

require leadhost/sdk v1.0.0

// The SDK is a part of the project, so a build needs no network.
replace leadhost/sdk v1.0.0 => ./sdk
