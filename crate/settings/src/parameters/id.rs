//! The name of every parameter.

/// Makes the enum, and the list of its values.
macro_rules! ids {
    ($($name:ident)*) => {
        /// A parameter, by name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the table's rows describe them")]
        pub enum Id { $($name,)* }

        impl Id {
            /// Every parameter, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$name,)*];
        }
    };
}

// By the files of the table.
ids! {
    Rate Cv Alpha Adapters LengthSource LengthPairs InputKind InputValue InputLow InputHigh InputMean
    InputDeviation InputExponent InputTheta InputMedian InputSigma InputP90 InputP99 InputHistogram
    InputMixShare InputMixKind InputMixLow InputMixExponent InputMixMedian InputMixSigma OutputKind
    OutputValue OutputLow OutputHigh OutputMean OutputDeviation OutputExponent OutputTheta OutputMedian
    OutputSigma OutputP90 OutputP99 OutputHistogram OutputMixShare OutputMixKind OutputMixLow
    OutputMixExponent OutputMixMedian OutputMixSigma LengthCorrelation MaxTokensKind MaxTokensCap

    BatchMaxTokens MaxRunning MaxRequestTokens MaxInputTokens DecodeSteps IdlePoll OriginalBlocking
    SchedulerKind ReserveFullIsl AsyncScheduling ChunkedPrefill LongPrefillTokens LongPrefillAdaptive
    PrefillInterval MaxActiveSeqs MaxQueuedTokens CapacityPolicy ChunkingPolicy
    PrefillChunk MaxPrefillTokens PrefillMaxRequests SchedulePolicy Conservativeness MixedChunk RadixEviction
    ClipMaxNewTokens MaxQueuedRequests DecodeInterval DecodeIntervalLeast RecvInterval MinFreeSlots SlotPreemption
    SlotPreemptionThreshold RetractionPolicy SchedulerOrder OrderClient FairWeights FairCost
    FairInputPrice FairOutputPrice FairCharging FairLift FairPrediction PredictionOf PredictionRange
    DrrQuantum RpmLimit AbortBound ClusterAdapters PriorityClasses PriorityAgeing PrefetchAdapters

    GatewayKind GatewayChecks GatewayClient GatewayRpm GatewayTpmInput GatewayTpmOutput GatewayTpmTotal
    GatewayCharge GatewayWindow GatewayBurst OverQuota Lending LendingThreshold LendingFloor MaxInSystem
    ClientConcurrency SlotLeak QueueRequests QueueTokens GatewayPool KvHeadroom KvLag KvLeak QueueTimeout
    TimeoutKind TimeoutTimes Sweep TtftBound EstimateOver RetryKind RetryAttempts RoundTrip RetryBase
    RetryCap RetryJitter PredictKind PredictBias PredictNoise PredictHalfLife PredictCold LoadKv LoadWait
    LoadStep LoadNear LoadHysteresis LoadAverage LoadDwell LoadPolicy GatewayOrder

    FleetGpu FleetModel TensorParallel PipelineParallel PeerAccess FleetNetwork Weights Unquantized QuantizedHead KvFormat KvPool
    MemoryPlan VllmVersion MemoryMargin KvCacheGib Replicas DataParallel RankPasses SyncInterval RankChoice ApiServers
    ExpertParallel AllToAll Eplb EplbRedundant EplbInterval EplbAsync EplbRate Pools Disaggregation PrefillReplicas DecodePool DisaggregationPolicy DisaggregationThreshold IslTokens IslRatio
    PrefillBusy DecodeBusy PrefillRouter TransferRate TransferBase TransferSharing DecodeRoute KvLoadFailure FailingLoads

    ScalingKind PoolSchedule ScalingMetric ScalingTarget OptimizationTarget ScalingTtft ScalingItl
    ScalingPrefillSpeed ScalingMin ScalingMax ScalingInterval ScrapeInterval ScrapeDelay ScalingWindow
    ScalingTolerance UpCooldown DownCooldown StepUp StepDown DrainPick
    ColdStartKind StartUp StartMachine StartImage StartImageRate StartWeightsRate StartCompile StartProbe
    StartVariation FailureTimes FailureInterval FailureRetries

    Router ChunkTokens BlockSize
    Allocation Watermark Preemption SwapRate SwapSpace KvBytesPerToken PrefixCache
    HostCacheGib HostCacheConnector HostCacheEviction HostCacheThreshold HostCachePrompts HostCacheLazy
    HostCacheRate HostCacheBase MaxTotalTokens
    AdapterMemory LoraKernels MaxLoras MaxLoraRank MaxCpuLoras HostRate DiskRate

    RouterIndex IndexTtl IndexBlocks IndexBlockTokens IndexEviction EventDelay HostWeight RouterCounts RouterScrape
    RouterShards LlmdAffinity LlmdExploration LlmdPeakPrefill LlmdTtftPenalty LlmdLoadTokens
    LlmdPrefixWeight LlmdQueueWeight LlmdKvWeight DynamoOverlapCredit DynamoPrefillScale
    DynamoActiveWeight DynamoTemperature SglangCacheThreshold SglangBalanceAbs SglangBalanceRel SglangMiss
    AibrixImbalance AibrixDeviations VtcFairnessWeight VtcUtilizationWeight VtcMaxLoad
    VtcWindow PsKvawareThreshold HashBound

    GpuMemory GpuBandwidth GpuBf16 GpuFp8 GpuFp4 GpuLink
    ModelLayers ModelHidden ModelHeads ModelKvHeads ModelHeadDim ModelWindow ModelWindowLayers ModelMlp
    ModelGated ModelVocabulary ModelContext ModelTied ModelExperts ModelExpertsPerToken ModelExpertSize
    ModelSharedExperts ModelSharedSize ModelDenseLayers ModelExpertLatent ModelAttention ModelQueryRank
    ModelKvRank ModelRopeDim ModelNopeDim ModelValueDim ModelIndexHeads ModelIndexDim ModelIndexTop ModelIndexLayers
    ModelGate ModelWindowKind ModelWindowKvHeads ModelWindowHeadDim ModelSharedKv ModelWindowSharedKv
    ModelStateLayers ModelStateKind ModelStateHeads ModelStateHeadDim ModelStateKeyHeads ModelStateKeyDim
    ModelConvolution ModelStateBytes ModelMlpOnly ModelMixerOnly ModelExtra

    Popularity AdapterZipf AdapterSigma AdapterDecay AdapterShares Ranks Users UserPopularity UserSigma
    UserDecay UserAlpha UserShares UserZipf ClientKind ClientCvs ClientInputScales ClientOutputScales
    ClientAdapters Loop ClosedRequests ThinkKind ThinkMean ThinkSigma SessionKind TurnKind TurnMean
    TurnSigma ContextCap AtCap AnswerTime PrefixKind BlockTokens SystemTokens AdapterTokens UserTokens

    Calibration CostKind ErrorBias ErrorNoise Corrections HostOverhead HostBase HostPerRequest HostLaunch
    KernelEngine CapturedTokens SpecMethod SpecTokens SpecAcceptance SpecRate SpecPositions SpecLength SpecTable SpecGate SpecBelow
    SpecSchedule SpecDraftModel SpecCostRatio PrefillBase PrefillPerToken DecodeBase DecodePerRequest DecodePerKv Overhead LoadBase
    LoadPerRank DecodePerRank DecodeActive PrefillFactor SloTtft SloTpot SloTbt TtftAtPrefill CapacityQuantile
    CapacityTtft CapacityTbt CapacityTpot CapacityE2e CapacityQueue CapacityQueueQuantile
    CapacityTolerance CapacityMostRequests UsdPerGpuHour PriceKind CapacityGrid

    TimeScale TraceTurns RateScale CurveKind CurveFactor CurveStart CurveEnd CurveSwing CurvePeriod
    CurvePeak CurvePoints DoSample Temperature TopP TopK PresencePenalty FrequencyPenalty IgnoreEos
    MinTokens MaxNewTokens StopSequences PinOutput CharactersPerToken CurveRise CurveSampling
    CurveInterval CurveNoise InputCurveKind InputCurveFactor InputCurveStart InputCurveEnd
    InputCurvePoints OutputCurveKind OutputCurveFactor OutputCurveStart OutputCurveEnd OutputCurvePoints
    Duration CutAtDuration ArrivalKind ArrivalsPer WeibullShape BusyFactor BusyShare BusySpell BatchSize
    ExtraInput ExtraOutput ExtraTime ExtraUser ExtraAdapter Seed
}
