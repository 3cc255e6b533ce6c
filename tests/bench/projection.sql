-- What `nvtally stats -r nvtx_kern_sum,nvtx_gpu_proj_sum,cuda_gpu_kern_sum` says, without its medians and
-- deviations. The indexes cover what is asked for, so that no row of a table is looked up.
PRAGMA temp_store = MEMORY;
PRAGMA cache_size = -1000000;
CREATE TEMP TABLE launched AS
    SELECT n.rowid AS range, n.globalTid AS tid, n.end - n.start AS host, n.textId AS name,
           k.start AS start, k.end AS end, k.demangledName AS kernel
    FROM NVTX_EVENTS n
    CROSS JOIN CUPTI_ACTIVITY_KIND_RUNTIME r
        ON r.globalTid = n.globalTid AND r.start BETWEEN n.start AND n.end AND r.end <= n.end
    CROSS JOIN CUPTI_ACTIVITY_KIND_KERNEL k
        ON k.correlationId = r.correlationId
        AND k.globalPid = r.globalTid / 0x1000000 * 0x1000000
    WHERE n.eventType IN (59, 60);
SELECT name, tid, kernel, count(DISTINCT range), count(*), sum(end - start), min(end - start),
       max(end - start)
FROM launched GROUP BY name, tid, kernel;
SELECT name, count(*), sum(last - first), sum(host), min(last - first), max(last - first), sum(ops)
FROM (SELECT range, name, host, min(start) AS first, max(end) AS last, count(*) AS ops
      FROM launched GROUP BY range)
GROUP BY name;
SELECT demangledName, count(*), sum(end - start), min(end - start), max(end - start)
FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY demangledName;
