//go:build perm

package shim_test

import (
	"testing"

	"holdfast/internal/permtest"
)

// An ordinary user gets namespaces of another kind than root, so all is tried again.
func TestPermAllOfIt(t *testing.T) {
	permtest.Ordinary(t)
	for name, test := range map[string]func(*testing.T){
		"AStrangerWithTheNumberOfAShimIsNotTouched":                 TestAStrangerWithTheNumberOfAShimIsNotTouched,
		"ANumberThatTheKernelGivesAgainIsAnotherProcess":            TestANumberThatTheKernelGivesAgainIsAnotherProcess,
		"AStrangerOfTheSameInstantIsToldByItsNamespace":             TestAStrangerOfTheSameInstantIsToldByItsNamespace,
		"AShimThatNobodyReapedIsGone":                               TestAShimThatNobodyReapedIsGone,
		"AnotherBootAndAnotherMachineAreToldApart":                  TestAnotherBootAndAnotherMachineAreToldApart,
		"AHeldLockSpeaksAgainstAnEnd":                               TestAHeldLockSpeaksAgainstAnEnd,
		"AMachineWithoutAnIDGetsOneThatStays":                       TestAMachineWithoutAnIDGetsOneThatStays,
		"ANewersIdentityIsRefusedInWords":                           TestANewersIdentityIsRefusedInWords,
		"ADamagedExitIsUnknown":                                     TestADamagedExitIsUnknown,
		"AProgramWithOtherBytesIsWrittenAnew":                       TestAProgramWithOtherBytesIsWrittenAnew,
		"AFloodKeepsTheLastSegments":                                TestAFloodKeepsTheLastSegments,
		"AFullDiskLosesOutputButNeitherWorkNorExit":                 TestAFullDiskLosesOutputButNeitherWorkNorExit,
		"WhereverTheDiskEndsTheAnswerIsTrue":                        TestWhereverTheDiskEndsTheAnswerIsTrue,
		"ALauncherKilledAtTheGateStartsNothing":                     TestALauncherKilledAtTheGateStartsNothing,
		"ALauncherKilledBeforeTheIdentityStartsNothing":             TestALauncherKilledBeforeTheIdentityStartsNothing,
		"WorkOutlivesItsLauncher":                                   TestWorkOutlivesItsLauncher,
		"ACancelledStartStartsNothing":                              TestACancelledStartStartsNothing,
		"AStopAtTheGateStartsNothing":                               TestAStopAtTheGateStartsNothing,
		"TheIdentityIsThereAtTheGateAndIsTheProcess":                TestTheIdentityIsThereAtTheGateAndIsTheProcess,
		"ACommandThatCannotBeStartedSaysWhy":                        TestACommandThatCannotBeStartedSaysWhy,
		"AnIdleShimIsSmall":                                         TestAnIdleShimIsSmall,
		"NothingOfAHydraOutlivesItsStop":                            TestNothingOfAHydraOutlivesItsStop,
		"WorkThatHandsOverToAGrandchildIsStillRunning":              TestWorkThatHandsOverToAGrandchildIsStillRunning,
		"WorkThatHeedsTermEndsByItself":                             TestWorkThatHeedsTermEndsByItself,
		"OtherSignalsDoNotEndAShim":                                 TestOtherSignalsDoNotEndAShim,
		"AShimEndsWhatIgnoresItsGrace":                              TestAShimEndsWhatIgnoresItsGrace,
		"AShimThatIsKilledTakesAllWithIt":                           TestAShimThatIsKilledTakesAllWithIt,
		"WhoCannotDieHasNotEnded":                                   TestWhoCannotDieHasNotEnded,
		"AShimThatIsNoInitDoesNotPlayOne":                           TestAShimThatIsNoInitDoesNotPlayOne,
		"TheHomeIsHiddenAndTheOwnDirectoryIsNot":                    TestTheHomeIsHiddenAndTheOwnDirectoryIsNot,
		"AHomeThatCannotBeHiddenIsSaid":                             TestAHomeThatCannotBeHiddenIsSaid,
		"WorkHasNoCapabilitiesAndSeesNothingOfTheShim":              TestWorkHasNoCapabilitiesAndSeesNothingOfTheShim,
		"TheEnvironmentIsExactAndLimitsAreLowered":                  TestTheEnvironmentIsExactAndLimitsAreLowered,
		"ALimitOfTheWorkIsNoLimitOfItsLog":                          TestALimitOfTheWorkIsNoLimitOfItsLog,
		"ALaunchThatCannotBeIsRefusedBeforeAnything":                TestALaunchThatCannotBeIsRefusedBeforeAnything,
		"OnlyRootStartsWorkAsSomebodyElse":                          TestOnlyRootStartsWorkAsSomebodyElse,
		"WhereNamespacesAreRefusedNothingStartsUnlessWeakIsAllowed": TestWhereNamespacesAreRefusedNothingStartsUnlessWeakIsAllowed,
		"WeakWorkIsSweptToTheLast":                                  TestWeakWorkIsSweptToTheLast,
		"AWeakShimThatWasKilledProvesNothing":                       TestAWeakShimThatWasKilledProvesNothing,
		"ATerminalIsSharedByAllWhoAttach":                           TestATerminalIsSharedByAllWhoAttach,
	} {
		t.Run(name, test)
	}
}
