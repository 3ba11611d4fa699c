package resources

func self() *reader { return &reader{} }
