package resources

const (
	onlyDir  = 0
	noFollow = 0
	noBlock  = 0
)
