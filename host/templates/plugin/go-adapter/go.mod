module plugin/{{name}}

go 1.27.1

require leadhost/sdk v1.0.0

replace leadhost/sdk v1.0.0 => ./sdk
