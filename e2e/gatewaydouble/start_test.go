package gatewaydouble_test

func fakeBinary() {}
