module leadhost/sdk

go 1.27.1
